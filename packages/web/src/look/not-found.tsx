/** The screen for unknown paths. */
import { Link } from "wouter";
import { Screen } from "./screen.tsx";
import { Empty } from "./states.tsx";

export const NotFound = () => (
  <Screen title="There is no such page">
    <Empty title="Nothing is at this address">
      <p>
        It may be mistyped or outdated. <Link href="/">Back to the start</Link>
      </p>
    </Empty>
  </Screen>
);
