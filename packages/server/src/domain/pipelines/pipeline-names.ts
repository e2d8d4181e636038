/** Generated names of pipelines: two short words that are easy to say and type. */
import { randomInt } from "node:crypto";

const first =
  "river stone amber cedar maple birch hazel olive coral ivory ebony lemon mango peach plum berry acorn clove thyme basil fern moss reed tulip daisy lilac pansy poppy aster lotus dawn dusk noon night frost snowy rainy misty sunny windy foggy cloud storm breezy calm quiet brisk swift fleet rapid steady sturdy solid plain clear clean fresh early late north south east west upper lower inner outer ocean delta coast shore beach bay cove marsh swamp meadow field plains hill ridge cliff canyon valley forest grove woody jade opal pearl ruby topaz agate onyx flint slate chalk clay sandy copper iron steel silver golden tin brass bronze".split(
    " ",
  );
const second =
  "mill race wheel gate weir dam pond lake pool brook creek ford bank bed bend fall flow flood tide wave boat raft ship sail oar mast deck dock pier port quay lock canal ferry barn farm yard crop corn oats rye malt bran seed root leaf stem twig bark tree pine oak elm ash yew fox wolf bear deer elk hare mole lynx otter seal crab clam fish trout carp pike bass eel heron crane duck swan goose gull tern wren lark robin finch crow rook owl hawk kite dove nest wing bell drum horn harp lute song verse tale book page ink quill lamp torch spark flame ember".split(
    " ",
  );

const oneOf = (words: readonly string[]) => words[randomInt(words.length)] as string;

/** Number of tries with a name that has no number. Later tries append a number, which gets more and more digits. */
const plainTries = 5;

/** Returns a random name. `tries` is the number of names that were tried before and were already in use. */
export function pipelineName(tries: number): string {
  const words = `${oneOf(first)}-${oneOf(second)}`;
  return tries < plainTries ? words : `${words}-${randomInt(10 ** Math.min(tries - plainTries + 2, 9))}`;
}
