/** The home of a team without anything: ways to begin. */
import { prefix } from "../api/base.ts";
import { useRefusal } from "../api/session.tsx";
import { teamPath, useTeam } from "../api/team.tsx";
import { ButtonLink } from "../look/button.tsx";
import { Command } from "../look/copy-button.tsx";
import { OfferDemo } from "./demo-card.tsx";

export function FirstSteps() {
  const team = useTeam();
  const server = window.location.origin + prefix;
  const refusal = useRefusal("editor");
  return (
    <>
      <p>Nothing has run in the team {team} yet. Begin in one of these ways.</p>
      <div className="first-steps">
        <div className="stack">
          <section className="card stack tight">
            <h2>In the browser</h2>
            <p className="soft">Write a Python or shell script, run it, and see its log beside the code.</p>
            <p>
              <ButtonLink kind="main" icon="plus" href={teamPath(team, "/editor")} refusal={refusal}>
                Open the editor
              </ButtonLink>
            </p>
          </section>
          <OfferDemo />
        </div>
        <section className="card stack tight">
          <h2>With the Python client</h2>
          <p className="soft">Install it, point it at this server, and run a script of yours, such as hello.py.</p>
          <Command text="pip install 'datachain[remote]'" />
          <Command text={`datachain auth login -H ${server}${prefix === "" ? "" : "/"}`} />
          <Command text="datachain job run hello.py" />
        </section>
        <section className="card stack tight">
          <h2>With the command line</h2>
          <p className="soft">
            The command millrace comes with the server and needs no Python. Sign in, then run a script of yours.
          </p>
          <Command text={`millrace auth login --url ${server} --team ${team}`} />
          <Command text="millrace job run hello.sh" />
        </section>
      </div>
    </>
  );
}
