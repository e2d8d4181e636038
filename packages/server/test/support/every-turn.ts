/** Calls `look` in each turn of the event loop, until the function that it returns is called. */
export function everyTurn(look: () => void): () => void {
  let isOn = true;
  const again = () => {
    if (!isOn) return;
    look();
    setImmediate(again);
  };
  setImmediate(again);
  return () => {
    isOn = false;
  };
}
