// SPDX-FileCopyrightText: The heed authors
// SPDX-License-Identifier: Apache-2.0
//
// What the measuring programs share: time, medians, random numbers, words of the command line.
#ifndef HEED_INTEGRATIONS_GGML_PAIR_HPP
#define HEED_INTEGRATIONS_GGML_PAIR_HPP

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string>
#include <vector>

inline double now_us()
{
    return std::chrono::duration<double, std::micro>(
               std::chrono::steady_clock::now().time_since_epoch())
        .count();
}

// Time that the process had a processor: what it takes on one thread, whatever else runs.
inline double processor_us()
{
    timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

inline double median(std::vector<double> x)
{
    std::sort(x.begin(), x.end());
    return x.empty() ? 0 : x[x.size() / 2];
}

// A linear congruential generator (Knuth) and sums of four of its numbers: the same everywhere.
struct random_numbers {
    uint64_t state;

    uint32_t word()
    {
        state = state * 6364136223846793005u + 1442695040888963407u;
        return (uint32_t)(state >> 32);
    }
    // About normal: mean 0, variance 1.
    float normal()
    {
        double sum = 0;
        for (int i = 0; i < 4; i++)
            sum += word() * 0x1p-32 - 0.5;
        return (float)(sum * std::sqrt(3.0));
    }
};

[[noreturn]] inline void die(const std::string &message)
{
    fprintf(stderr, "%s\n", message.c_str());
    exit(1);
}

// The value behind a word of the command line, or what it is without.
inline std::string option(int argc, char **argv, const char *name, const char *otherwise)
{
    for (int i = 1; i + 1 < argc; i++)
        if (!strcmp(argv[i], name))
            return argv[i + 1];
    return otherwise;
}

inline std::vector<std::string> split(const std::string &text)
{
    std::vector<std::string> parts;
    for (size_t begin = 0; begin <= text.size();) {
        const size_t end = std::min(text.find(',', begin), text.size());
        if (end > begin)
            parts.push_back(text.substr(begin, end - begin));
        begin = end + 1;
    }
    return parts;
}

#endif
