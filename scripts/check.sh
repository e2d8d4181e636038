# Checks types, style and unused code.
here=$(dirname "$0")
cd "$here/.." || exit
sh scripts/install.sh all || exit
node_modules/.bin/tsc -p . && node_modules/.bin/tsc -p packages/web && node_modules/.bin/biome check --error-on-warnings . && node_modules/.bin/knip
