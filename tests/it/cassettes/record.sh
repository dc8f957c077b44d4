#!/bin/sh
# Records `greenhouse.jsonl` anew: the conversation in `greenhouse.txt` with a real model in a window
# of 2048 tokens. What is asked is part of a cassette, so it is due whenever compression asks for other
# things. It takes a few minutes.
#
#   LLAMA_SERVER=path/to/llama-server MODEL=path/to/SmolLM2-135M-Instruct.gguf tests/it/cassettes/record.sh
#
# Answers are cut at 32 tokens, which keeps the cassette small.
set -eu
cd "$(dirname "$0")"
port=${PORT:-18431}
epitome=${EPITOME:-../../../target/debug/epitome}
scratch=$(mktemp -d)
"$LLAMA_SERVER" -m "$MODEL" -c 2048 -n 32 -t 1 --poll 0 --parallel 1 --port "$port" \
  >"$scratch/server.log" 2>&1 &
server=$!
trap 'kill "$server"; rm -rf "$scratch"' EXIT
until curl -sf "http://127.0.0.1:$port/health" >/dev/null; do
  kill -0 "$server" # The server may have ended: see its log.
  sleep 1
done
"$epitome" chat --untrusted --store "$scratch/s.db" --session greenhouse \
  --model "openai:smollm2@http://127.0.0.1:$port/v1" --record greenhouse.jsonl \
  --system "You keep the log of a greenhouse and answer in one short sentence." <greenhouse.txt
