# Places files in the working directory. Arguments: the folder they come from, then for each its name there and here.
# A repository may hold a link under the name of a file: the destination is replaced, never written through.
from=$1
shift
while [ $# -gt 0 ]; do
  cp --remove-destination -- "$from/$1" "./$2" || exit
  chmod "u+rw,go-w" "./$2" || exit
  shift 2
done
