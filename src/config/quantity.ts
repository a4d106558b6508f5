// Parses the quantities of the configuration, which are kept as text, without throwing.
import { Quantity } from '../api/quantity/quantity.ts';

export function parseQuantity(text: string): Quantity | undefined {
  try {
    return Quantity.parse(text);
  } catch {
    return undefined;
  }
}
