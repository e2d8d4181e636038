/** How often callers may try to get in. */
import type { RequestSettings } from "../configuration/groups/requests.ts";
import type { Clock } from "../domain/time/clock.ts";
import { GrowingDelays } from "../http/connections/growing-delays.ts";
import { RateLimit } from "../http/connections/rate-limit.ts";
import type { SignInLimits } from "../http/requests/context.ts";

export function signInLimits({ loginRate }: RequestSettings, clock: Clock): SignInLimits {
  const limit = (perMinute: number, what: string) => new RateLimit(clock, perMinute, what);
  return {
    logins: limit(loginRate, "sign-in attempts from here"),
    guesses: new GrowingDelays(clock, Math.ceil(loginRate / 3)),
    passwords: limit(Math.ceil(loginRate / 3), "passwords tried for this user"),
    devices: limit(loginRate, "device logins from here"),
    answers: limit(loginRate, "codes answered by this user"),
    secrets: limit(loginRate, "wrong links and codes from here"),
    // The client polls every five seconds without end, and may be told to poll faster.
    polls: limit(loginRate * 4, "questions about this device login"),
    // A whole office that waits for device logins may share one address.
    strangers: limit(loginRate * 20, "requests without a token or session from here"),
    badTokens: limit(loginRate * 4, "bad tokens from this address"),
  };
}
