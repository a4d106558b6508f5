// Removes secrets from what a driver prints, before any of it becomes part of an error. Pure.
// Invariant: the work is bounded by the length of the text times `mostForms`; with more secrets than that, nothing is shown.
// differs from upstream, which logs the arguments and the output of a failed call with all secrets.

const shortestShown = 3;
const shortestLine = 8;
const mostForms = 256;
const replacement = '***';

/** The forms in which a driver may repeat secrets: as given, decoded, escaped in JSON, and line by line. */
export function sensitiveForms(base64Values: readonly string[]): readonly string[] {
  const forms = base64Values.flatMap((encoded) => {
    const decoded = Buffer.from(encoded, 'base64').toString('utf8');
    const lines = decoded.split(/\r?\n/, mostForms + 1).filter((line) => line.length >= shortestLine);
    return [encoded, decoded, decoded.trim(), JSON.stringify(decoded).slice(1, -1), ...lines];
  });
  const unique = [...new Set(forms)].filter((form) => form.length >= shortestShown);
  // The longest first: a shorter one may be part of it.
  return unique.sort((a, b) => b.length - a.length).slice(0, mostForms + 1);
}

export function withoutSecrets(text: string, forms: readonly string[]): string {
  if (forms.length > mostForms) return 'withheld, because the volume has too many secrets to remove them';
  return forms.reduce((rest, form) => rest.replaceAll(form, replacement), text);
}
