# Makes sure that the virtualenv of a job exists, building it at most once however many jobs need it. Sourced by a plan,
# in the attempt's folder, with the rights of the server; what strangers wrote runs inside, by functions of the plan:
# `stage` copies the files that requirements name and prints what tells them apart; `build_wheels`, `build_shared` and
# `build_own` fill the folder $MILLRACE_VENV.
# Set by the plan: envs (the team's folder of environments), key, named (not empty where the requirements may name local
# files), owner (user of the job, or empty), evict (ends every process of that user, where nothing else does), python with
# its version and folders; uv (a program of the machine's, or empty), tools (where our own is kept, or empty); wheels (not
# empty where packages that need no building may come from the team's cache), keeper (user of that cache, or empty); most
# (bytes that the job may take; 0: any number) and over (what it is told beyond them).

cancelled() {
  [ -e cancel ] && exit 143
}

# Folders for this user that nobody has put anything into, and nobody left who could: cloning a repository may run the
# job's commands.
fresh() {
  evict || exit
  rm -rf build
  mkdir -m 0700 build && mkdir -m 0700 build/files build/home build/tmp || exit
  cp input/requirements.txt build/files/.millrace-requirements.txt && cp input/build-env build/env || exit
  cp input/build.sh input/pip-settings.py build/ || exit
  [ -z "$1" ] || chown -R "$1:$1" build || exit
}

build=build_shared before=
if [ -n "$named" ]; then
  fresh "$owner"
  staged=$(stage) || exit
  case $staged in
  own)
    # What lies in the job's own folder cannot be shared, nor told by a key.
    envs=$PWD/own-env build=build_own
    mkdir -p -m 0711 "$envs"
    ;;
  *)
    # The contents of named files are part of what the environment is.
    key=$(echo "$key $staged" | sha256sum | cut -c1-40)
    ;;
  esac
fi
MILLRACE_VENV=$envs/$key

# Under the lock, shared or not: whoever removes old environments takes it alone, and looks at the time of the mark.
use() {
  [ -e "$MILLRACE_VENV.ready" ] && [ -d "$MILLRACE_VENV" ] || return
  true >"$MILLRACE_VENV.ready"
  echo "$MILLRACE_VENV" >venv || exit
  [ -z "$1" ] || echo "$1"
  exit 0
}

# Takes the lock, shared (-s) or alone (-x). The kernel drops it when its last holder ends, however it ends.
take() {
  flock "$1" -n 9 && return
  echo "Waiting for another job that builds the same virtualenv"
  until flock "$1" -w 1 9; do cancelled; done
}

# Strangers' files become the server's, and nobody else can change them. One that has another name somewhere, or belongs
# to somebody else, could still be changed from there. The builder's own cache has such names: it goes first.
seal() {
  evict || return
  rm -rf build
  [ -z "$owner" ] && return
  strange=$(find "$MILLRACE_VENV" '(' '!' -uid "$owner" -o '!' -type d -links +1 ')' -print -quit) || return
  if [ -n "$strange" ]; then
    echo "The virtualenv holds a file that is also elsewhere, or another user's: $strange" >&2
    return 1
  fi
  chown -R -h 0:0 "$MILLRACE_VENV" && chmod -R u-s,g-s,go-w,a+rX "$MILLRACE_VENV"
}

# An empty one, for this user to fill. While it is built it counts to what the job may take.
begin() {
  rm -rf "$MILLRACE_VENV" "$MILLRACE_VENV.size" "$MILLRACE_VENV.compile"
  mkdir "$MILLRACE_VENV" || exit
  echo "$MILLRACE_VENV" >building || exit
  [ -z "$1" ] || chown "$1:$1" "$MILLRACE_VENV" || exit
}

# What a build that was too large put into the cache goes with it, unless somebody else is building from there.
forget_cache() {
  [ "$most" -gt 0 ] && [ -n "$before" ] || return
  grown=$(($(du -s --block-size=1 "$envs/cache" | cut -f1) - before))
  [ "$grown" -gt "$most" ] && flock -x -n 7 && mv -T "$envs/cache" "$envs/cache.$key.trash" &&
    rm -rf "$envs/cache.$key.trash"
}

keep() {
  du -s --block-size=1 "$MILLRACE_VENV" | cut -f1 >"$MILLRACE_VENV.size"
  # Those who look from time to time may have missed it.
  if [ "$most" -gt 0 ] && [ "$(cat "$MILLRACE_VENV.size")" -gt "$most" ]; then
    echo "$over" >limit
    rm -rf "$MILLRACE_VENV" "$MILLRACE_VENV.size" "$MILLRACE_VENV.compile"
    forget_cache
    exit 1
  fi
  sync -f "$MILLRACE_VENV" 2>/dev/null
  rm -f building
  true >"$MILLRACE_VENV.ready"
  use ""
}

# Whoever can open a lock can keep it: at `uid` jobs see these folders.
open_lock() {
  (umask 077 && true >>"$1") && chmod 0600 "$1" || exit
}

open_lock "$MILLRACE_VENV.lock"
exec 9>"$MILLRACE_VENV.lock"
take -s
use "Using cached virtualenv"
take -x
use "Using cached virtualenv"
[ -z "$tools" ] || . "$uv_script"
echo "Building virtualenv with Python $version"
# Strangers do not get the locks: they could let go of them.
if [ -n "$wheels" ] && [ -n "$uv" ]; then
  # Only uv runs, as a user that no job ever is: what it puts into the cache is what was published. Its files need no
  # sealing, and are compiled later, by the server: the job does not wait for that.
  begin "$keeper"
  fresh "$keeper"
  open_lock "$envs/cache.lock"
  exec 7>"$envs/cache.lock"
  until flock -s -w 1 7; do cancelled; done
  # What the cache grows by counts to the job, too, as its share of all who build.
  before=$(du -s --block-size=1 "$envs/cache" | cut -f1)
  echo "$before" >>building || exit
  if (build_wheels) 7>&- 9>&-; then
    rm -rf build
    printf '%s\n' "$python" "$folders" >"$MILLRACE_VENV.compile"
    keep
  fi
  forget_cache
  exec 7>&-
  cancelled
  true >"$envs/cache.lock"
fi
begin "$owner"
[ -n "$named" ] || fresh "$owner"
if ("$build") 9>&-; then
  seal && keep
fi
echo "The virtualenv could not be built" >&2
rm -rf "$MILLRACE_VENV" build
cancelled
exit 1
