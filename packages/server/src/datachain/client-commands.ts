/** Shell commands for new users: they connect the datachain client to this server and run a first script. */

export const connectClient = (url: string) => `export DATACHAIN_STUDIO_URL=${url}
  datachain auth login --hostname ${url} --team main`;

export const runScript = (script: string) => `datachain job run ${script}`;
