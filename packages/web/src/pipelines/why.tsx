/** The reason of a failure, beside a name in a list. */
import "./pipelines.css";

export const Why = ({ reason }: { reason: string | undefined }) =>
  reason === undefined ? null : (
    <span className="why small soft" title={reason}>
      {reason}
    </span>
  );
