/** The credentials of the job: those of the team, none, or chosen ones. */
import { routes } from "@millrace/contract";
import { useId } from "react";
import { useApi } from "../api/calls.ts";
import { Check } from "../look/field.tsx";
import type { DraftForm } from "./draft.ts";

export function CredentialsField({ draft: { credentials }, change }: DraftForm) {
  const known = useApi(routes.listCredentials, { query: {} }).data ?? [];
  const group = useId();
  const chosen = typeof credentials === "string" ? [] : credentials;
  const names = [...new Set([...known.map(({ name }) => name), ...chosen])];
  const usual = known.find((set) => set.default)?.name ?? "not set";
  const choose = (after: typeof credentials) => change({ credentials: after.length === 0 ? "default" : after });
  const way = (label: string, isOn: boolean, after: typeof credentials) => (
    <label className="check row">
      <input type="radio" name={group} checked={isOn} onChange={() => choose(after)} />
      {label}
    </label>
  );
  return (
    <fieldset className="credentials-field stack tight">
      <legend>Credentials</legend>
      {way(`Default of the team (${usual})`, credentials === "default", "default")}
      {way("None", credentials === "none", "none")}
      {names.length > 0 && way("These", chosen.length > 0, names.slice(0, 1))}
      {chosen.length > 0 && (
        <div className="chosen-credentials stack tight">
          {names.map((name) => (
            <Check
              key={name}
              label={name}
              checked={chosen.includes(name)}
              onCheck={(on) => choose(on ? [...chosen, name] : chosen.filter((other) => other !== name))}
            />
          ))}
        </div>
      )}
    </fieldset>
  );
}
