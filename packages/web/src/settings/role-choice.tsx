/** Chooses a role, and says what it may do. */
import { type Role, roles } from "@millrace/contract";
import { Choice } from "../look/field.tsx";

const words: Readonly<Record<Role, string>> = {
  viewer: "A viewer sees jobs, datasets and pipelines.",
  editor: "An editor sees what a viewer sees, and runs, cancels and schedules jobs.",
  admin: "An admin does what an editor does, and manages members, credentials and settings.",
};

interface RoleChoiceProps {
  readonly value: Role;
  readonly onChange: (role: Role) => void;
  readonly among?: readonly Role[];
}

export const RoleChoice = ({ value, onChange, among = roles }: RoleChoiceProps) => (
  <Choice label="Role" value={value} onText={(role) => onChange(role as Role)} hint={words[value]}>
    {among.map((role) => (
      <option key={role}>{role}</option>
    ))}
  </Choice>
);
