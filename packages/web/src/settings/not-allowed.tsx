/** In the place of what the user's role may not see. */
import { Empty } from "../look/states.tsx";

export const NotAllowed = ({ what, why }: { what: string; why: string }) => (
  <Empty title={`You cannot see ${what}`}>
    <p>{why}</p>
  </Empty>
);
