/** Creates a user, and changes the names, rights and password of one. */
import { routes, shortestPassword, type User } from "@millrace/contract";
import { useState } from "react";
import { useAction } from "../api/calls.ts";
import { Dialog } from "../look/dialog.tsx";
import { Check, TextField } from "../look/field.tsx";
import { Form } from "../look/form.tsx";

interface Fields {
  readonly first_name: string;
  readonly last_name: string;
  readonly email: string;
  readonly is_admin: boolean;
  readonly password: string;
}

const empty: Fields = { first_name: "", last_name: "", email: "", is_admin: false, password: "" };

/** The fields as the API takes them: without a password if none was typed. */
const bodyOf = ({ password, ...rest }: Fields) => ({ ...rest, password: password === "" ? null : password });

export function NewUser({ onClose }: { onClose: () => void }) {
  const create = useAction(routes.createUser);
  const [username, setUsername] = useState("");
  const [fields, setFields] = useState(empty);
  const body = { username: username.trim(), ...bodyOf(fields) };
  return (
    <Dialog title="New user" onClose={onClose}>
      <Form
        action="Create the user"
        onSubmit={() => create.mutate({ body }, { onSuccess: onClose })}
        busy={create.isPending}
        error={create.error}
        onCancel={onClose}
      >
        <TextField
          label="Username"
          name="username"
          value={username}
          onText={setUsername}
          required
          maxLength={39}
          autoCapitalize="none"
          hint="Lower-case letters, digits, hyphens and underscores. It cannot be changed."
        />
        <PersonFields fields={fields} onChange={setFields} withoutPassword="Empty: no password." />
      </Form>
    </Dialog>
  );
}

export function UserForm({ user, onClose }: { user: User; onClose: () => void }) {
  const save = useAction(routes.updateUser);
  const { username, first_name, last_name, is_admin } = user;
  const [fields, setFields] = useState<Fields>({
    first_name,
    last_name,
    is_admin,
    email: user.email ?? "",
    password: "",
  });
  return (
    <Dialog title={`Edit ${username}`} onClose={onClose}>
      <Form
        action="Save"
        onSubmit={() => save.mutate({ params: { username }, body: bodyOf(fields) }, { onSuccess: onClose })}
        busy={save.isPending}
        error={save.error}
        onCancel={onClose}
      >
        <PersonFields fields={fields} onChange={setFields} withoutPassword="Empty: the present one stays." />
      </Form>
    </Dialog>
  );
}

interface PersonFieldsProps {
  readonly fields: Fields;
  readonly onChange: (fields: Fields) => void;
  /** What an empty password means. */
  readonly withoutPassword: string;
}

function PersonFields({ fields, onChange, withoutPassword }: PersonFieldsProps) {
  const set = (changed: Partial<Fields>) => onChange({ ...fields, ...changed });
  return (
    <>
      <TextField
        label="First name"
        name="first_name"
        value={fields.first_name}
        onText={(first_name) => set({ first_name })}
        maxLength={100}
      />
      <TextField
        label="Last name"
        name="last_name"
        value={fields.last_name}
        onText={(last_name) => set({ last_name })}
        maxLength={100}
      />
      <TextField
        label="E-mail"
        name="email"
        type="email"
        value={fields.email}
        onText={(email) => set({ email })}
        maxLength={254}
      />
      <TextField
        label="Password"
        name="password"
        type="password"
        autoComplete="new-password"
        minLength={shortestPassword}
        value={fields.password}
        onText={(password) => set({ password })}
        hint={
          <>
            {withoutPassword} On the machine of the server,{" "}
            <code className="nowrap">millrace admin link --user NAME</code> prints a link that signs in once.
          </>
        }
      />
      <Check label="Administrator of the server" checked={fields.is_admin} onCheck={(is_admin) => set({ is_admin })} />
    </>
  );
}
