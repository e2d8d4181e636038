/** The button below a list that reads its next page. */
import { Button } from "./button.tsx";

interface Paged {
  readonly hasNextPage: boolean;
  readonly isFetchingNextPage: boolean;
  readonly fetchNextPage: () => unknown;
}

export const More = ({ of, children }: { of: Paged; children: string }) =>
  of.hasNextPage ? (
    <div>
      <Button busy={of.isFetchingNextPage} onClick={() => void of.fetchNextPage()}>
        {children}
      </Button>
    </div>
  ) : null;
