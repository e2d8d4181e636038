/** A secret that the server shows only now: a new token, the link of an invitation, the secret of a webhook. */
import { CopyButton } from "./copy-button.tsx";

export const ShownOnce = ({ what, text, next }: { what: string; text: string; next?: string }) => (
  <div className="stack tight" role="status">
    <p>
      <b className="good">{what}</b> Copy it now: it is not shown again. {next}
    </p>
    <div className="code row apart">
      <code>{text}</code>
      <CopyButton text={text} label="Copy">
        Copy
      </CopyButton>
    </div>
  </div>
);
