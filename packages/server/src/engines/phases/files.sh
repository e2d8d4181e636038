# Copies files to the working directory. Arguments: the source folder, then for each file its name there and its new name.
# A repository may contain a symbolic link with the name of a file, so the destination is replaced, never written through.
from=$1
shift
while [ $# -gt 0 ]; do
  cp --remove-destination -- "$from/$1" "./$2" || exit
  chmod "u+rw,go-w" "./$2" || exit
  shift 2
done
