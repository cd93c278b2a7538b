#!/usr/bin/env bash
# How often alerts cry wolf and how soon they find what is there: made-up releases, through the
# statistics that the server uses. What is simulated: tests/support/release_sim.h and
# docs/statistics.md. Equal options print equal figures.
#   tests/bench/alerts.sh [--seed S] [--runs N] [--effect E] [--mix none|early|slow] [--vsync] [--shown]
#                         [--control own|shrunken|model] [--before DAYS] [--day-sd D] [--model-sd D]
#                         [--installs N] [--frames N]
#   tests/bench/alerts.sh --server [--sessions N] [the same but --control]
#   tests/bench/alerts.sh --verdicts [--seed S] [--runs N]     verdicts on fixes
#   tests/bench/alerts.sh --tiers [--seed S] [--runs N]        tiers, beside k-means
# E: 0.1 gives one slice of twelve 10 % more work a frame, with --shown as much as makes P90 of its
# frames 10 % longer (locked to a display the two differ); mix: whether fast installs update first, last or neither.
# A release takes half a second. --server sends every session of it, about N, over HTTP to a framewatchd
# with a PostgreSQL of its own and prints what that says beside the functions.
# FW_BUILD: an existing build.
set -euo pipefail
cd "$(dirname "$0")/../.."
build=${FW_BUILD:-build/bench}
program=alerts_bench
args=()
for arg; do
    if [ "$arg" = --server ]; then program=alerts_server_bench; else args+=("$arg"); fi
done

if [ -z "${FW_BUILD:-}" ]; then
    cmake -S . -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DFW_WERROR=OFF -DFW_DEMO_GAME=OFF >/dev/null
    cmake --build "$build" --target "$program" -- --quiet
fi
exec "$build/tests/$program" ${args[@]+"${args[@]}"}
