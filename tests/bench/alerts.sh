#!/usr/bin/env bash
# How often alerts cry wolf and how soon they find what is there: made-up releases, through the
# statistics that the server uses. What is simulated: tests/support/release_sim.h and
# docs/statistics.md. Equal options print equal figures.
#   tests/bench/alerts.sh [--seed S] [--runs N] [--effect E] [--mix none|early|slow] [--vsync]
#                         [--control own|shrunken|model] [--before DAYS] [--day-sd D] [--installs N] [--frames N]
#   tests/bench/alerts.sh --verdicts [--seed S] [--runs N]     verdicts on fixes
#   tests/bench/alerts.sh --tiers [--seed S] [--runs N]        tiers, beside k-means
# E: 0.1 slows one slice of twelve by 10 %; mix: whether fast installs update first, last or neither.
# A release takes half a second. FW_BUILD: an existing build.
set -euo pipefail
cd "$(dirname "$0")/../.."
build=${FW_BUILD:-build/bench}

if [ -z "${FW_BUILD:-}" ]; then
    cmake -S . -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DFW_DEMO_GAME=OFF >/dev/null
    cmake --build "$build" --target alerts_bench -- --quiet
fi
exec "$build/tests/alerts_bench" "$@"
