/** Asks until it holds; the bound is for a test that would otherwise hang. */
export async function until(holds: () => Promise<boolean>, seconds = 60): Promise<void> {
  for (const deadline = Date.now() + seconds * 1000; !(await holds()); ) {
    if (Date.now() > deadline) throw new Error("it does not become true");
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
