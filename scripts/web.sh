# Builds the web UI if its build is missing or older than its sources. It takes seconds.
cd "$(dirname "$0")/.." || exit
built=packages/web/dist/index.html
[ -e "$built" ] && [ -z "$(find packages/web/src packages/web/index.html packages/web/vite.config.ts packages/contract/src package-lock.json -newer "$built" -print -quit)" ] && exit 0
echo "Building the web UI (a few seconds)" >&2
node_modules/.bin/node node_modules/vite/bin/vite.js build packages/web --config packages/web/vite.config.ts --logLevel error
