// Quantities in the configuration stay text; this answers whether a text is one, without throwing.
import { Quantity } from '../api/quantity/quantity.ts';

export function parseQuantity(text: string): Quantity | undefined {
  try {
    return Quantity.parse(text);
  } catch {
    return undefined;
  }
}
