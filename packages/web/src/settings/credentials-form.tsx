/** Creates credentials, or replaces all values of a set. */
import { type Credentials, routes } from "@millrace/contract";
import { useState } from "react";
import { useAction } from "../api/calls.ts";
import { Dialog } from "../look/dialog.tsx";
import { TextArea, TextField } from "../look/field.tsx";
import { Form } from "../look/form.tsx";

/** A set whose values are replaced, or the owner of a new one. */
export type Editing = Credentials | { readonly owner: Credentials["owner"] };

const words = (text: string) => text.split(/[\s,]+/).filter((word) => word !== "");

export function CredentialsForm({ editing, onClose }: { editing: Editing; onClose: () => void }) {
  const existing = "name" in editing ? editing : undefined;
  const ofTeam = useAction(routes.setTeamCredentials);
  const own = useAction(routes.setOwnCredentials);
  const save = editing.owner === "team" ? ofTeam : own;
  const [name, setName] = useState(existing?.name ?? "");
  const [dotenv, setDotenv] = useState("");
  const [plain, setPlain] = useState(Object.keys(existing?.plain ?? {}).join(" "));
  const body = { name: name.trim(), dotenv, plain: words(plain) };
  const fresh = editing.owner === "team" ? "New credentials of the team" : "New personal credentials";
  return (
    <Dialog title={existing ? `Replace the values of ${existing.name}` : fresh} onClose={onClose}>
      <Form
        action={existing ? "Replace" : "Create"}
        onSubmit={() => save.mutate({ body }, { onSuccess: onClose })}
        busy={save.isPending}
        error={save.error}
        onCancel={onClose}
      >
        {!existing && <TextField label="Name" name="name" value={name} onText={setName} required maxLength={64} />}
        <TextArea
          label="Variables"
          name="dotenv"
          className="mono"
          rows={6}
          required
          spellCheck={false}
          autoComplete="off"
          value={dotenv}
          onText={setDotenv}
          placeholder={"AWS_ACCESS_KEY_ID=…\nAWS_SECRET_ACCESS_KEY=…"}
          hint={
            existing
              ? `One NAME=VALUE in each line. They replace all of: ${existing.variables.join(", ")}.`
              : "One NAME=VALUE in each line. Values are encrypted, masked in logs, and never shown again, except those named below."
          }
        />
        <TextField
          label="Visible variables"
          name="plain"
          value={plain}
          onText={setPlain}
          placeholder="AWS_REGION"
          hint="Names, separated by spaces. Everybody in the team may see the values of these variables."
        />
      </Form>
    </Dialog>
  );
}
