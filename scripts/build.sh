# Builds the files that `npm pack` ships for the package in the current folder: JavaScript, types, and files read at run time.
# Running from source needs no build; this is for people who install Millrace from a registry.
root=$(cd "$(dirname "$0")/.." && pwd)
tools=$root/node_modules/.bin
for tool in tsc esbuild; do
  [ -x "$tools/$tool" ] && continue
  # `npm start` installs without them: they are needed for building alone.
  echo "Building this package needs $tool, a development package that is not installed." >&2
  echo "Run \`npm install\` in the repository's root, then try again." >&2
  exit 1
done
entry=src/main.ts
[ -e "$entry" ] || entry=src/index.ts
# Programs that are started as separate processes or threads.
children="src/warehouses/child.ts src/senders/storage-child.ts src/admin/doctor/doctor-thread.ts"
[ -e src/warehouses/child.ts ] || children=

# Our packages that this one imports must be built before its types can be.
for name in contract server storage; do
  case "$(cat package.json)" in
    *"\"@millrace/$name\": "*) [ -e "$root/packages/$name/dist" ] || (cd "$root/packages/$name" && sh "$root/scripts/build.sh") || exit ;;
  esac
done

rm -rf dist
# A library without side effects keeps its modules, for its oldest supported Node (22), so that bundlers can drop unused
# parts. Programs are bundled.
if grep -q '"sideEffects": false' package.json; then
  javascript='"target": "es2024"'
else
  javascript='"emitDeclarationOnly": true'
  "$tools/esbuild" "$entry" $children --bundle --splitting --entry-names='[name]' --format=esm --platform=node \
    --target=node24 --packages=external --log-level=warning --outdir=dist || exit
fi
# Files that are read at run time are beside the module that reads them; in a bundle, at the top.
(cd src && find . \( -name '*.sh' -o -name '*.py' -o -name '*.txt' \)) | while read -r file; do
  folder=dist
  grep -q '"sideEffects": false' package.json && folder=dist/$(dirname "$file")
  mkdir -p "$folder" && cp "src/$file" "$folder/"
done

# The server serves the web UI.
if [ "$entry" = src/main.ts ] && [ -d src/http ]; then
  sh "$root/scripts/web.sh" || exit
  mkdir -p dist/web && cp -r "$root/packages/web/dist/index.html" "$root/packages/web/dist/assets" dist/web/
  mkdir -p dist/web/look && cp "$root"/packages/web/src/look/*.css dist/web/look/
fi

config=tsconfig.build.json
trap 'rm -f "$config"' EXIT
cat >"$config" <<JSON
{
  "extends": "../../tsconfig.json",
  "compilerOptions": {
    "noEmit": false, "declaration": true, $javascript, "customConditions": [],
    "rewriteRelativeImportExtensions": true, "rootDir": "src", "outDir": "dist"
  },
  "include": ["src"]
}
JSON
"$tools/tsc" -p "$config"
