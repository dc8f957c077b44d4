#!/bin/sh
# Records cassettes anew, with a real model. What is asked is part of a cassette, so that is due
# whenever compression asks for other things.
#
#   LLAMA_SERVER=path/to/llama-server MODEL=path/to/model.gguf tests/it/cassettes/record.sh WHAT
#
# `greenhouse`: the conversation in `greenhouse.txt` in a window of 2048 tokens, with
#   SmolLM2-135M-Instruct; a few minutes. Answers are cut at 32 tokens, which keeps it small.
# `written`: what the tests of `written` ask for summaries and judgements, with
#   Qwen2.5-Coder-1.5B-Instruct, which says more than a smaller one; half an hour. With a name behind
#   it, those tests only: `written tiered`. Look at what it says before you keep it.
set -eu
cd "$(dirname "$0")/../../.."
what=${1:?greenhouse or written}
epitome=${EPITOME:-target/debug/epitome}
scratch=$(mktemp -d)
case $what in
  greenhouse) port=${PORT:-18431} flags="-c 2048 -n 32" ;;
  written) port=18555 flags="-c 8192 --jinja --alias qwen" ;; # The tests know the port.
  *) echo "$0: there is greenhouse and written" >&2; exit 2 ;;
esac
# The server tells the path of its model, which nobody else's machine has.
server=$(realpath "$LLAMA_SERVER") model=$(realpath "$MODEL")
cd "$(dirname "$model")"
# shellcheck disable=SC2086 # Several flags.
"$server" -m "$(basename "$model")" $flags -t 1 --poll 0 --parallel 1 --port "$port" \
  >"$scratch/server.log" 2>&1 &
server=$!
cd "$OLDPWD"
trap 'kill "$server"; rm -rf "$scratch"' EXIT
until curl -sf "http://127.0.0.1:$port/health" >/dev/null; do
  kill -0 "$server" # The server may have ended: see its log.
  sleep 1
done
if [ "$what" = written ]; then
  RECORD=1 cargo test -p it -- "written::${2:-}" --test-threads 1
  exit
fi
cassettes=tests/it/cassettes
"$epitome" chat --untrusted --store "$scratch/s.db" --session greenhouse \
  --model "openai:smollm2@http://127.0.0.1:$port/v1" --record "$cassettes/greenhouse.jsonl" \
  --system "You keep the log of a greenhouse and answer in one short sentence." \
  <"$cassettes/greenhouse.txt"
