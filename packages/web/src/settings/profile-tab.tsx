/** Your own profile: names, e-mail address, time zone, password, theme. */
import { routes, shortestPassword } from "@millrace/contract";
import { useState } from "react";
import { useAction } from "../api/calls.ts";
import { useSession } from "../api/session.tsx";
import { Choice, TextField } from "../look/field.tsx";
import { Form } from "../look/form.tsx";
import { themes, themeTitles, useTheme } from "../look/theme.ts";

export const ProfileTab = () => (
  <div className="settings-columns">
    <section className="card stack">
      <h2>Profile</h2>
      <ProfileForm />
    </section>
    <div className="stack">
      <section className="card stack">
        <h2>Password</h2>
        <PasswordForm />
      </section>
      <section className="card stack">
        <h2>This browser</h2>
        <ThemeChoice />
      </section>
    </div>
  </div>
);

const zones = Intl.supportedValuesOf("timeZone");

function ProfileForm() {
  const me = useSession();
  const save = useAction(routes.updateProfile);
  const [first, setFirst] = useState(me.first_name);
  const [last, setLast] = useState(me.last_name);
  const [email, setEmail] = useState(me.email ?? "");
  const [timezone, setTimezone] = useState(me.timezone ?? "");
  const body = { first_name: first, last_name: last, email: email.trim(), timezone };
  return (
    <Form
      action="Save"
      onSubmit={() => save.mutate({ body })}
      busy={save.isPending}
      error={save.error}
      done={save.isSuccess && "Saved"}
    >
      <TextField label="Username" value={me.username} readOnly hint="It cannot be changed." />
      <TextField
        label="First name"
        name="first_name"
        value={first}
        onText={setFirst}
        autoComplete="given-name"
        maxLength={100}
      />
      <TextField
        label="Last name"
        name="last_name"
        value={last}
        onText={setLast}
        autoComplete="family-name"
        maxLength={100}
      />
      <TextField
        label="E-mail"
        name="email"
        type="email"
        value={email}
        onText={setEmail}
        autoComplete="email"
        maxLength={254}
      />
      <Choice label="Time zone" value={timezone} onText={setTimezone} hint="The command line shows times in this zone.">
        <option value="">The zone of the machine</option>
        {zones.map((zone) => (
          <option key={zone}>{zone}</option>
        ))}
      </Choice>
    </Form>
  );
}

function PasswordForm() {
  const me = useSession();
  const change = useAction(routes.changePassword);
  const [current, setCurrent] = useState("");
  const [password, setPassword] = useState("");
  const [again, setAgain] = useState("");
  const [differ, setDiffer] = useState(false);
  const empty = () => {
    for (const set of [setCurrent, setPassword, setAgain]) set("");
  };
  const submit = () => {
    setDiffer(password !== again);
    if (password !== again) return;
    change.mutate({ body: { password, current_password: me.has_password ? current : null } }, { onSuccess: empty });
  };
  return (
    <Form
      action={me.has_password ? "Change the password" : "Set a password"}
      isMain={false}
      onSubmit={submit}
      busy={change.isPending}
      error={differ ? new Error("The two new passwords differ. Type the same password twice.") : change.error}
      done={change.isSuccess && "Changed. Other browsers were signed out."}
    >
      <input type="hidden" autoComplete="username" value={me.username} />
      {me.has_password && (
        <TextField
          label="Current password"
          name="current_password"
          type="password"
          autoComplete="current-password"
          value={current}
          onText={setCurrent}
          required
        />
      )}
      <TextField
        label="New password"
        name="password"
        type="password"
        autoComplete="new-password"
        value={password}
        onText={setPassword}
        minLength={shortestPassword}
        required
        hint={`${shortestPassword} characters or more`}
      />
      <TextField
        label="New password again"
        type="password"
        autoComplete="new-password"
        value={again}
        onText={setAgain}
        required
      />
    </Form>
  );
}

function ThemeChoice() {
  const [theme, setTheme] = useTheme();
  return (
    <Choice label="Theme" value={theme} onText={(name) => setTheme(name as typeof theme)}>
      {themes.map((name) => (
        <option key={name} value={name}>
          {themeTitles[name]}
        </option>
      ))}
    </Choice>
  );
}
