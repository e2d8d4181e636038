/** Commands of the library's own client, for people who have just begun. */

export const connectClient = (url: string) => `export DATACHAIN_STUDIO_URL=${url}
  datachain auth login --hostname ${url} --team main`;

export const runScript = (script: string) => `datachain job run ${script}`;
