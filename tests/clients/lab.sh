# Sourced by the scripts beside it: the scratch folder, what is installed into it, what is run.
# Sets `top`, `LAB`, `program` and `upstream`.

top=$(cd "$(dirname "$0")/../.." && pwd)
: "${LAB:?name a scratch folder: LAB=folder $0}"
mkdir -p "$LAB/npm"
LAB=$(cd "$LAB" && pwd)
program=${EPITOME:-$top/target/debug/epitome}
upstream=$top/target/debug/epitome-upstream

node_package() { # name, version that is known to work, command
  [ -e "$LAB/npm/node_modules/.bin/$3" ] && return
  echo "installing $1 ..." >&2
  (cd "$LAB/npm" && [ -f package.json ] || echo '{"name":"lab","private":true}' >"$LAB/npm/package.json"
    cd "$LAB/npm"
    npm install --no-audit --no-fund --silent "$1@$2" || npm install --no-audit --no-fund --silent "$1")
}

agents() { # those that attach the levers
  node_package @anthropic-ai/claude-code 2.1.197 claude
  node_package @openai/codex 0.169.0 codex
}

sdks() { # what providers publish for Python
  "$LAB/venv/bin/python" -c 'import anthropic, openai, ollama' 2>/dev/null && return
  echo "installing anthropic, openai, ollama ..." >&2
  [ -x "$LAB/venv/bin/python" ] || python3 -m venv "$LAB/venv"
  "$LAB/venv/bin/pip" install -q anthropic openai ollama
}

aider() { # hundreds of megabytes, in a place of its own: its packages pin those of others
  [ -x "$LAB/aider/bin/aider" ] && return
  echo "installing aider-chat ..." >&2
  python3 -m venv "$LAB/aider"
  "$LAB/aider/bin/pip" install -q aider-chat==0.86.2
}

build() {
  cargo build -q --manifest-path "$top/Cargo.toml" -p epitome-upstream
  [ -n "${EPITOME:-}" ] || cargo build -q --manifest-path "$top/Cargo.toml" -p epitome-cli
}
