/** Why a job or an attempt failed: the sentence, and as code the lines of its log or the traceback, each once. */
import { splitReason } from "../look/reason.ts";
import "./failure-text.css";

interface FailureProps {
  readonly message: string | null;
  readonly stack: string | null;
}

export function FailureText({ message, stack }: FailureProps) {
  if (message === null && stack === null) return null;
  const { sentence, tail } = splitReason(message ?? "");
  return (
    <div className="failure stack tight">
      {sentence !== "" && <p>{sentence}</p>}
      {tail !== "" && <Code text={tail} />}
      <Stack message={message ?? ""} stack={stack ?? ""} />
    </div>
  );
}

/** The traceback; or, folded, the last lines of the log, unless the message has all of them. */
function Stack({ message, stack }: { message: string; stack: string }) {
  if (stack === "" || trimmed(message).endsWith(trimmed(stack))) return null;
  if (stack.includes("Traceback")) return <Code text={stack} />;
  return (
    <details>
      <summary className="small">More lines of the log</summary>
      <Code text={stack} />
    </details>
  );
}

/** The message has the lines of the log without the spaces at their ends. */
const trimmed = (text: string) =>
  text
    .split("\n")
    .map((line) => line.trim())
    .join("\n");

const Code = ({ text }: { text: string }) => (
  // biome-ignore lint/a11y/noNoninteractiveTabindex: a long traceback is scrolled with the keyboard
  <pre className="code" tabIndex={0}>
    {text}
  </pre>
);
