# Makes sure that the virtualenv of a job exists. However many jobs need it, it is built only once. A plan sources this
# script in the attempt's folder, with the server's rights. Foreign code runs isolated, in these functions of the plan:
# `stage` copies the files that the requirements name and prints a hash of them; `build_wheels`, `build_shared` and
# `build_own` install packages into $MILLRACE_VENV.
# Variables that the plan sets:
#   envs     folder of the team's virtualenvs
#   key      hash of everything that determines the content of the virtualenv
#   named    not empty if the requirements may name local files
#   owner    user id of the job, or empty
#   evict    function that kills all processes of that user, if the isolation does not do so
#   python, version, folders   the interpreter
#   uv       path of the machine's uv, or empty
#   tools    folder of the server's own uv, or empty
#   wheels   not empty if wheels may come from the team's package cache
#   keeper   user id that owns that cache, or empty
#   most     maximum bytes on disk of the job; 0 for no limit
#   over     error message for exceeding `most`

cancelled() {
  [ -e cancel ] && exit 143
}

# Creates empty build folders for a user. It first kills the processes of that user, because cloning a repository may have
# run commands of the job, which could still write to the folders.
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
    # The requirements name something that cannot be hashed, so this virtualenv is for this job alone.
    envs=$PWD/own-env build=build_own
    mkdir -p -m 0711 "$envs"
    # Other jobs see its path in the list of processes.
    [ -z "$owner" ] || { chown "0:$owner" "$envs" && chmod 0710 "$envs"; } || exit
    ;;
  *)
    # The content of the named files is part of the key.
    key=$(echo "$key $staged" | sha256sum | cut -c1-40)
    ;;
  esac
fi
MILLRACE_VENV=$envs/$key

# Ends the phase successfully if the virtualenv is ready, and updates the time of its .ready file. The caller holds the lock:
# the removal of old virtualenvs takes the lock exclusively and checks that time.
use() {
  [ -e "$MILLRACE_VENV.ready" ] && [ -d "$MILLRACE_VENV" ] || return
  true >"$MILLRACE_VENV.ready"
  echo "$MILLRACE_VENV" >venv || exit
  [ -z "$1" ] || echo "$1"
  exit 0
}

# Takes the lock of the virtualenv, shared (-s) or exclusive (-x). The kernel releases it when the last holder exits.
take() {
  flock "$1" -n 9 && return
  echo "Waiting for another job that builds the same virtualenv"
  until flock "$1" -w 1 9; do cancelled; done
}

# Makes the virtualenv belong to root and read-only for others. It fails if a file has another hard link or another owner,
# because that link or owner could still change the file. The build folder is deleted first, because its files have such
# links to a cache.
seal() {
  evict || return
  rm -rf build
  [ -z "$owner" ] && return
  strange=$(find "$MILLRACE_VENV" '(' '!' -uid "$owner" -o '!' -type d -links +1 ')' -print -quit) || return
  if [ -n "$strange" ]; then
    echo "The virtualenv cannot be shared: it contains a file that has another hard link or belongs to another user: $strange" >&2
    return 1
  fi
  chown -R -h 0:0 "$MILLRACE_VENV" && chmod -R u-s,g-s,go-w,a+rX "$MILLRACE_VENV"
}

# Creates an empty virtualenv folder for this user, who must have no processes left: one of an earlier phase could write to
# the folder, even if it cannot reach it, because a job of a colleague can open the folder for it. While it is being built,
# it counts toward the job's disk limit.
begin() {
  rm -rf "$MILLRACE_VENV" "$MILLRACE_VENV.size" "$MILLRACE_VENV.compile"
  mkdir "$MILLRACE_VENV" || exit
  echo "$MILLRACE_VENV" >building || exit
  [ -z "$1" ] || chown "$1:$1" "$MILLRACE_VENV" || exit
}

# Deletes the package cache if this build made it grow beyond the disk limit, unless another build uses the cache.
forget_cache() {
  [ "$most" -gt 0 ] && [ -n "$before" ] || return
  grown=$(($(du -s --block-size=1 "$envs/cache" | cut -f1) - before))
  [ "$grown" -gt "$most" ] && flock -x -n 7 && mv -T "$envs/cache" "$envs/cache.$key.trash" &&
    rm -rf "$envs/cache.$key.trash"
}

keep() {
  du -s --block-size=1 "$MILLRACE_VENV" | cut -f1 >"$MILLRACE_VENV.size"
  # The periodic check of disk usage may have missed that the virtualenv is too large.
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

# Creates a lock file that only the server's user can open. At level `uid` jobs see these folders, and a process that can
# open a lock file can hold the lock.
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
# The builds run without the lock's file descriptors (7 and 9): foreign code could release the locks.
if [ -n "$wheels" ] && [ -n "$uv" ]; then
  # Only uv runs here, as a user that no job ever has, so the cache contains only published packages. These files need no
  # `seal`. The server compiles them to bytecode later, so that the job does not wait for it.
  fresh "$keeper"
  begin "$keeper"
  open_lock "$envs/cache.lock"
  exec 7>"$envs/cache.lock"
  until flock -s -w 1 7; do cancelled; done
  # The growth of the cache counts toward the job's disk limit too, divided by the number of concurrent builds.
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
[ -n "$named" ] || fresh "$owner"
begin "$owner"
if ("$build") 9>&-; then
  seal && keep
fi
echo "The virtualenv could not be built" >&2
rm -rf "$MILLRACE_VENV" build
cancelled
exit 1
