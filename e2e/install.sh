#!/usr/bin/env bash
# Installs the agent command lines that the end-to-end tests drive, in the versions
# their fixtures were recorded with, into a cache folder: nothing is installed on
# the machine. Called again, it does nothing.
#
#   e2e/install.sh [FOLDER]     default: $TERMIO_E2E_AGENTS, else .cache/agents
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

folder=${1:-${TERMIO_E2E_AGENTS:-.cache/agents}}
case $(uname -sm) in
"Linux x86_64") system=linux-x64 ;;
"Linux aarch64") system=linux-arm64 ;;
"Darwin arm64") system=darwin-arm64 ;;
*) echo "no agent command lines for $(uname -sm)" >&2 && exit 1 ;;
esac

# install NAME VERSION PACKAGE PROGRAM puts one agent into a folder of its own: npm
# takes out of a folder what it was not asked for. PROGRAM is a pattern below
# node_modules.
install() {
	local name=$1 version=$2 package=$3 program=$4 there
	there=$folder/$name
	if [[ $(cat "$there/version" 2>/dev/null) == "$version" ]] && compgen -G "$there/node_modules/$program" >/dev/null; then
		echo "$name $version is there"
		return
	fi
	mkdir -p "$there"
	npm install --prefix "$there" --no-audit --no-fund --no-save --ignore-scripts --loglevel=error "$package"
	compgen -G "$there/node_modules/$program" >/dev/null || { echo "$package holds no $program" >&2 && return 1; }
	echo "$version" >"$there/version"
	echo "$name $version"
}

# The platforms' own packages hold the whole programs: no launcher, no install script.
install claude 2.1.332 "@anthropic-ai/claude-code-$system@2.1.332" "@anthropic-ai/claude-code-$system/claude"
install codex 0.171.0 "@openai/codex-$system@npm:@openai/codex@0.171.0-$system" "@openai/codex-$system/vendor/*/bin/codex"

# Pi and Qwen Code need a newer Node than most systems have.
install node 22.23.5 "node-$system@22.23.5" "node-$system/bin/node"
install pi 1.6.0 "@earendil-works/pi-coding-agent@1.6.0" "@earendil-works/pi-coding-agent/dist/bundle/cli.js"

# The others are large and slow to start: they come where TERMIO_E2E_MORE names them.
for more in ${TERMIO_E2E_MORE:-}; do
	case $more in
	opencode) install opencode 1.18.33 "opencode-$system@1.18.33" "opencode-$system/bin/opencode" ;;
	copilot) install copilot 1.0.102 "@github/copilot@1.0.102" "@github/copilot/npm-loader.js" ;;
	gemini) install gemini 0.61.0 "@google/gemini-cli@0.61.0" "@google/gemini-cli/bundle/gemini.js" ;;
	qwen) install qwen 0.24.4 "@qwen-code/qwen-code@0.24.4" "@qwen-code/qwen-code/cli-entry.js" ;;
	*) echo "no agent $more to install" >&2 && exit 1 ;;
	esac
done
