#!/usr/bin/env bash
# Installs the agent command lines that the end-to-end tests drive, in the versions
# their fixtures were recorded with, into a cache folder: nothing is installed on
# the machine. Called again, it does nothing.
#
#   e2e/install.sh [FOLDER]     default: $TERMIO_E2E_AGENTS, else .cache/agents
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

claude=2.1.332

folder=${1:-${TERMIO_E2E_AGENTS:-.cache/agents}}
case $(uname -sm) in
"Linux x86_64") system=linux-x64 ;;
"Linux aarch64") system=linux-arm64 ;;
"Darwin arm64") system=darwin-arm64 ;;
*) echo "no agent command lines for $(uname -sm)" >&2 && exit 1 ;;
esac

binary=$folder/node_modules/@anthropic-ai/claude-code-$system/claude
if [[ -x $binary ]] && [[ $(cat "$folder/claude.version" 2>/dev/null) == "$claude" ]]; then
	echo "$binary $claude is there"
	exit
fi
mkdir -p "$folder"
# The platform's own package holds the whole program: no launcher, no install script.
npm install --prefix "$folder" --no-audit --no-fund --no-save --ignore-scripts --loglevel=error \
	"@anthropic-ai/claude-code-$system@$claude"
[[ -x $binary ]] || { echo "the package holds no $binary" >&2 && exit 1; }
echo "$claude" >"$folder/claude.version"
echo "$binary $claude"
