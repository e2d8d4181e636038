/** Settings: where callers reach the server, and which proxies it trusts. */
import { hostNames, integer, publicUrl, text, trustProxy } from "../parse.ts";
import { group, setting, type Values } from "../setting.ts";

export const listening = group("Address and proxies", {
  host: setting({
    env: "MILLRACE_HOST",
    flag: "host",
    fallback: "127.0.0.1",
    description:
      "address to listen on; an address that other machines can reach requires an administrator with a password",
    parse: text,
  }),
  port: setting({
    env: "MILLRACE_PORT",
    flag: "port",
    fallback: "8484",
    description: "port to listen on; 0 picks a free port",
    parse: integer(0, 65535),
  }),
  publicUrl: setting({
    env: "MILLRACE_PUBLIC_URL",
    fallback: "",
    description: "URL at which people reach the server, used in links; empty means http://HOST:PORT",
    parse: publicUrl,
  }),
  allowedHosts: setting({
    env: "MILLRACE_ALLOWED_HOSTS",
    fallback: "",
    description:
      "comma-separated host names, besides its own, that the server accepts in the Host header; checked when it listens on loopback, or when this or MILLRACE_PUBLIC_URL is set",
    see: "security.md#names-connections-and-bodies",
    parse: hostNames,
  }),
  trustProxy: setting({
    env: "MILLRACE_TRUST_PROXY",
    fallback: "",
    description:
      "proxies whose X-Forwarded-For header the server trusts, for rate limits and the audit log: comma-separated addresses, networks such as 10.0.0.0/8, or loopback, linklocal and uniquelocal; or a number of hops; empty trusts none",
    parse: trustProxy,
  }),
});

export type ListeningSettings = Values<typeof listening>;
