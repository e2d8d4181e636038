/** Selects the variables of the server's environment that jobs may see. */

/**
 * Names of the variables that are passed to jobs. No others are, so that the server's own settings and secrets do not
 * reach jobs.
 */
const passedToJobs =
  /^(PATH|LANG|LC_ALL|TZ|SSL_CERT_FILE|SSL_CERT_DIR|REQUESTS_CA_BUNDLE|CURL_CA_BUNDLE|GIT_SSL_CAINFO|NODE_EXTRA_CA_CERTS|AWS_CA_BUNDLE|(HTTPS?|ALL|NO|FTP)_PROXY|(https?|all|no|ftp)_proxy|PIP_[A-Z_]+|UV_[A-Z_]+)$/;

export function jobEnvironment(env: NodeJS.ProcessEnv): Record<string, string> {
  return Object.fromEntries(
    Object.entries(env).filter(
      (entry): entry is [string, string] => passedToJobs.test(entry[0]) && entry[1] !== undefined,
    ),
  );
}
