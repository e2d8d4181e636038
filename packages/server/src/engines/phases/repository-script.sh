# Runs a script of the repository that was cloned into the working directory. Arguments: the path of the script, then the
# interpreter. Without an interpreter, the script's `#!` line decides, or else /bin/sh runs it.
path=$1
shift

refuse() {
  echo "$1" >&2
  exit 1
}

# The authors of the repository control this path, and it may be a symbolic link to anywhere, so its target is checked.
root=$(pwd -P)
real=$(realpath -e -- "./$path" 2>/dev/null) || refuse "The repository has no script $path"
case $real in
"$root"/.git | "$root"/.git/*) refuse "The script $path is in the folder .git, which is not part of the repository" ;;
"$root"/*) ;;
*) refuse "The script $path is a link to a file outside the repository" ;;
esac
[ -f "$real" ] || refuse "The script $path is not a file"

commit=$(git rev-parse --short HEAD 2>/dev/null) && echo "Running $path of the commit $commit"
if grep -q '^# /// script' -- "$real"; then
  echo "The metadata (# /// script) of a script in a repository is not read: set its requirements on the job" >&2
fi
[ $# -eq 0 ] || exec "$@" "./$path"
if [ "$(head -c 2 -- "$real")" = "#!" ]; then
  chmod u+x "$real" || exit
  exec "./$path"
fi
exec /bin/sh "./$path"
