# Runs a script of the repository that was cloned into the working directory. Arguments: its path below it, then the
# interpreter; without one it is run by what its first line names, or by a shell.
path=$1
shift

refuse() {
  echo "$1" >&2
  exit 1
}

# Whoever can write to the repository chooses what lies at the path: a link may lead anywhere.
root=$(pwd -P)
real=$(realpath -e -- "./$path" 2>/dev/null) || refuse "The repository has no script $path"
case $real in
"$root"/.git | "$root"/.git/*) refuse "The script $path lies in git's own folder, which is not part of the repository" ;;
"$root"/*) ;;
*) refuse "The script $path is a link that leads out of the repository" ;;
esac
[ -f "$real" ] || refuse "The script $path is not a file"

commit=$(git rev-parse --short HEAD 2>/dev/null) && echo "Running $path of the commit $commit"
if grep -q '^# /// script' -- "$real"; then
  echo "The metadata of a script in a repository (# /// script) is not read: name its requirements with the job" >&2
fi
[ $# -eq 0 ] || exec "$@" "./$path"
if [ "$(head -c 2 -- "$real")" = "#!" ]; then
  chmod u+x "$real" || exit
  exec "./$path"
fi
exec /bin/sh "./$path"
