# `npm start`: installs what is missing, then serves. Arguments go to `millrace serve`.
here=$(dirname "$0")
sh "$here/install.sh" run || exit
exec "$here/../node_modules/.bin/millrace" serve "$@"
