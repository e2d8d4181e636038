/** The users of the server. */
import { routes, type User } from "@millrace/contract";
import { useState } from "react";
import { useApi } from "../api/calls.ts";
import { useUrlState } from "../api/url-state.ts";
import { Button } from "../look/button.tsx";
import { Read } from "../look/states.tsx";
import { Status } from "../look/status.tsx";
import { type Column, Table } from "../look/table.tsx";
import { Time } from "../look/time.tsx";
import { DisableUser } from "./disable-user.tsx";
import { NewUser, UserForm } from "./user-forms.tsx";

const size = 100;

interface Open {
  readonly what: "edit" | "disable";
  readonly user: User;
}

export function UsersTab() {
  const [after, setAfter] = useUrlState("after");
  const users = useApi(routes.listUsers, { query: { limit: size, ...(after ? { cursor: after } : {}) } });
  const [open, setOpen] = useState<Open | "new">();
  const close = () => setOpen(undefined);
  return (
    <>
      <div className="row">
        <Button kind="main" icon="plus" onClick={() => setOpen("new")}>
          New user
        </Button>
      </div>
      <Read from={users}>
        {(list) => (
          <>
            <Table label="Users" columns={columns(setOpen)} items={list} keyOf={({ username }) => username} />
            <div className="row">
              {after !== "" && <Button onClick={() => setAfter("")}>First page</Button>}
              {list.length === size && <Button onClick={() => setAfter(list.at(-1)?.username ?? "")}>Next page</Button>}
            </div>
          </>
        )}
      </Read>
      {open === "new" && <NewUser onClose={close} />}
      {typeof open === "object" && open.what === "edit" && <UserForm user={open.user} onClose={close} />}
      {typeof open === "object" && open.what === "disable" && <DisableUser user={open.user} onClose={close} />}
    </>
  );
}

const kindOf = ({ disabled_at, service_account, is_admin }: User) => {
  if (disabled_at !== null) return <Status status="CANCELED" word="Disabled" />;
  if (service_account) return "service account";
  return is_admin ? <b>administrator</b> : "user";
};

const columns = (open: (what: Open) => void): readonly Column<User>[] => [
  { title: "User", cell: ({ username }) => username },
  { title: "Kind", cell: kindOf },
  {
    title: "Name",
    optional: true,
    cell: ({ first_name, last_name, email }) => [first_name, last_name, email].filter(Boolean).join(" "),
  },
  {
    title: "Teams",
    wide: true,
    optional: true,
    cell: ({ teams }) => teams.map(({ name, role }) => `${name} (${role})`).join(", "),
  },
  { title: "Created", optional: true, cell: ({ created_at }) => <Time at={created_at} /> },
  {
    title: "Actions",
    cell: (user) => (
      <span className="row">
        <Button
          aria-label={`Edit ${user.username}`}
          refusal={user.service_account ? "Nobody signs in as a service account. Its team manages it." : undefined}
          onClick={() => open({ what: "edit", user })}
        >
          Edit
        </Button>
        <Button
          aria-label={`${user.disabled_at === null ? "Disable" : "Enable"} ${user.username}`}
          onClick={() => open({ what: "disable", user })}
        >
          {user.disabled_at === null ? "Disable" : "Enable"}
        </Button>
      </span>
    ),
  },
];
