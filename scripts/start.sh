# `npm start`: installs and builds what is missing, then serves. Arguments go to `millrace serve`.
here=$(dirname "$0")
sh "$here/install.sh" run || exit
# Without the web UI the server still works, and its pages say what is missing.
sh "$here/web.sh"
exec "$here/../node_modules/.bin/millrace" serve "$@"
