# `npm test`: installs what is missing, then runs every check and test, and prints the time of each part.
# Arguments: names of parts (check runner contract web server storage cli client pack browser isolation crash soak fuzz); none means all.
# `chaos` only runs if it is named.
cd "$(dirname "$0")/.." || exit
wanted=" $* "
failed=""
started=$(date +%s)
memory=""
# Half the time of a small test file is spent on TypeScript, so its compiled form is cached.
export NODE_COMPILE_CACHE="${NODE_COMPILE_CACHE:-$PWD/node_modules/.cache/millrace}"

part() {
  name=$1
  shift
  case "$wanted" in "  " | *" $name "*) ;; *) return ;; esac
  begin=$(date +%s)
  echo "== $name"
  "$@" || failed="$failed $name"
  echo "== $name took $(($(date +%s) - begin)) s"
}

# A file that ran no test fails. A skipped test is reported, and fails in CI, where everything is available.
run_tests() {
  gaps=$(mktemp)
  node_modules/.bin/node --conditions=millrace-source --disable-warning=ExperimentalWarning --test \
    --test-concurrency="${TEST_CONCURRENCY:-3}" \
    --test-reporter=spec --test-reporter-destination=stdout \
    --test-reporter=./scripts/test-gaps.ts --test-reporter-destination="$gaps" "$@"
  result=$?
  sort "$gaps" | uniq -c | sed 's/^ *1 /  /'
  grep -q '^empty ' "$gaps" && result=1
  [ -n "$CI" ] && [ -s "$gaps" ] && result=1
  rm -f "$gaps"
  return $result
}

# Runs the first file beside all others, from the start: it takes as long as they do, and each leaves half of the machine
# unused. What it prints comes at the end.
run_beside() {
  printed=$(mktemp)
  run_tests "$1" >"$printed" 2>&1 &
  beside=$!
  shift
  TEST_CONCURRENCY=2 run_tests "$@"
  others=$?
  wait "$beside"
  first=$?
  cat "$printed"
  rm -f "$printed"
  return $((others || first))
}

# A commit waits for the disk, and tests make many, so their folders are on an in-memory file system if there is one.
in_memory() {
  if [ -z "$memory" ] && [ "$(id -u)" = 0 ] && [ "$(awk '/MemAvailable/ { print $2 }' /proc/meminfo)" -gt 12000000 ]; then
    memory=$(mktemp -d)
    trap 'umount -l "$memory" 2>/dev/null; rmdir "$memory"' EXIT
    trap 'exit 1' INT TERM
    mount -t tmpfs -o size=8g,mode=1777 millrace-tests "$memory" || chmod 1777 "$memory"
  fi
  if [ -n "$memory" ]; then TMPDIR=$memory run_tests "$@"; else run_tests "$@"; fi
}

install() {
  sh scripts/install.sh all && sh scripts/test-packages.sh && sh scripts/web.sh
}

begin=$started
echo "== install"
install || exit
echo "== install took $(($(date +%s) - begin)) s"
part check sh scripts/check.sh
part runner run_tests scripts/*.test.ts
part contract run_tests packages/contract/test/*.test.ts
part web run_tests packages/web/test/*.test.ts
long="" long_client="" long_server=""
[ "$MILLRACE_LONG_TESTS" = 1 ] && long=packages/storage/test/long/*.test.ts long_client=e2e/long/client-*.test.ts \
  long_server=packages/server/test/long/*.test.ts
# shellcheck disable=SC2046,SC2086
part server in_memory $(find packages/server/test -name "*.test.ts" -not -path "*/long/*") $long_server
# shellcheck disable=SC2046,SC2086
part storage run_tests $(find packages/storage/test -name "*.test.ts" -not -path "*/long/*") $long
part cli in_memory packages/cli/test/*.test.ts e2e/cli-*.test.ts
# shellcheck disable=SC2086
part client run_tests e2e/client-*.test.ts $long_client
part isolation run_tests e2e/hostile-*.test.ts e2e/limits.test.ts
part crash in_memory e2e/crash*.test.ts
part soak run_tests e2e/soak.test.ts
# It needs Kubernetes, which takes long to build, so it must be named.
case "$wanted" in *" chaos "*) part chaos run_tests e2e/long/chaos-clusters.test.ts ;; esac
pack="e2e/pack.test.ts e2e/storage-pack.test.ts" browser="e2e/browser*.test.ts" fuzz=e2e/fuzz.test.ts
# shellcheck disable=SC2086
if [ "$wanted" = "  " ]; then
  part "pack, browser and fuzz" run_beside "$fuzz" $pack $browser
else
  part pack run_tests $pack
  part browser run_tests $browser
  part fuzz run_tests $fuzz
fi
echo "== all took $(($(date +%s) - started)) s"
[ -z "$failed" ] || {
  echo "failed:$failed"
  exit 1
}
