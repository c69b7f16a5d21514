/* Earthquakes that set off others: a Hawkes process, counted year by year.
 *
 * Reads tsnl's JSON on standard input, writes one count a line. Background quakes come at a steady rate;
 * each sets off a Poisson number of others (its mean is the branching ratio), each after an exponential
 * delay. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST 200000   /* quakes in all: beyond, the simulation has failed */
#define BEFORE 100.0  /* years that run before the first count */

static uint64_t state;

static double uniform(void) { /* splitmix64 */
    uint64_t z = (state += 0x9e3779b97f4a7c15ULL);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return ((double)((z ^ (z >> 31)) >> 11) + 0.5) / 9007199254740992.0;
}

static double waiting(double mean) { return -mean * log(uniform()); }

static double number(const char *text, const char *name) {
    char key[64];
    snprintf(key, sizeof key, "\"%s\":", name);
    const char *found = strstr(text, key);
    if (!found) {
        fprintf(stderr, "no %s in the input\n", name);
        exit(2);
    }
    return strtod(found + strlen(key), NULL);
}

int main(void) {
    static char text[65536];
    static double time[MOST];
    text[fread(text, 1, sizeof text - 1, stdin)] = 0;
    double background = number(text, "background"), branching = number(text, "branching");
    double delay = number(text, "delay");
    int years = (int)number(text, "length"), quakes = 0;
    state = (uint64_t)number(text, "seed");
    int *counts = calloc(years, sizeof *counts);

    for (double t = waiting(1 / background); t < BEFORE + years; t += waiting(1 / background)) {
        if (quakes == MOST) return 3;
        time[quakes++] = t;
    }
    for (int i = 0; i < quakes; i++) { /* also those that are added on the way */
        for (double u = waiting(1 / branching); u < 1; u += waiting(1 / branching)) {
            double t = time[i] + waiting(delay);
            if (t >= BEFORE + years) continue;
            if (quakes == MOST) return 3;
            time[quakes++] = t;
        }
        if (time[i] >= BEFORE) counts[(int)(time[i] - BEFORE)]++;
    }
    for (int year = 0; year < years; year++) printf("%d\n", counts[year]);
    return 0;
}
