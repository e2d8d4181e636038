/** A button that leads to another page, and that says why if it is not allowed. */
import { Button, ButtonLink } from "./button.tsx";

type Props = Parameters<typeof ButtonLink>[0] & { refusal: string | undefined };

export const GoButton = ({ refusal, ...rest }: Props) =>
  refusal === undefined ? (
    <ButtonLink {...rest} />
  ) : (
    <Button {...(rest.kind && { kind: rest.kind })} {...(rest.icon && { icon: rest.icon })} refusal={refusal}>
      {rest.children}
    </Button>
  );
