/** Builds the rate limits for sign-ins, other unauthenticated requests, and test e-mails. */
import type { RequestSettings } from "../configuration/groups/requests.ts";
import type { Clock } from "../domain/time/clock.ts";
import { GrowingDelays } from "../http/connections/growing-delays.ts";
import { RateLimit } from "../http/connections/rate-limit.ts";
import type { SignInLimits } from "../http/requests/context.ts";

export function signInLimits({ loginRate }: RequestSettings, clock: Clock): SignInLimits {
  const limit = (perMinute: number, what: string) => new RateLimit(clock, perMinute, what);
  return {
    logins: limit(loginRate, "sign-in attempts from this address"),
    guesses: new GrowingDelays(clock, Math.ceil(loginRate / 3)),
    passwords: limit(Math.ceil(loginRate / 3), "passwords tried for this user"),
    devices: limit(loginRate, "device logins from this address"),
    answers: limit(loginRate, "device codes confirmed by this user"),
    secrets: limit(loginRate, "wrong links and codes from this address"),
    // The client polls every five seconds without end, and the server may tell it to poll faster.
    polls: limit(loginRate * 4, "polls of this device login"),
    // Many people who wait for device logins may share one address, for example in an office.
    strangers: limit(loginRate * 20, "requests without a token or session from this address"),
    badTokens: limit(loginRate * 4, "invalid tokens from this address"),
    testMails: limit(5, "test e-mails of this team"),
  };
}
