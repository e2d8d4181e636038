/** Shows the app to signed-in users only. */
import { routes } from "@millrace/contract";
import type { ReactNode } from "react";
import { serverPath } from "../api/base.ts";
import { useApi } from "../api/calls.ts";
import { isSignedOut } from "../api/client.ts";
import { SessionContext } from "../api/session.tsx";
import { LoadError } from "../look/states.tsx";

/** Shows its children to a signed-in user. Sends everybody else to the sign-in page, and back afterwards. */
export function Session({ children }: { children: ReactNode }) {
  const { data, error } = useApi(routes.whoAmI, {}, { staleTime: 60_000 });
  if (isSignedOut(error)) {
    const { pathname, search, hash } = window.location;
    const next = pathname.slice(serverPath("").length) + search + hash;
    window.location.assign(serverPath(`/auth/sign-in?next=${encodeURIComponent(next)}`));
    return null;
  }
  if (!data) return error ? <LoadError error={error} /> : null;
  return <SessionContext.Provider value={data}>{children}</SessionContext.Provider>;
}
