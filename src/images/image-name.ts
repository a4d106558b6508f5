// Reads an image name as registries do. Pure. Upstream: pkg/util/parsers over distribution/reference.
import { KubeletError } from '../base/errors.ts';

const domainPart = '(?:[a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9])';
const domain = `(?:${domainPart}(?:\\.${domainPart})*|\\[(?:[a-fA-F0-9:]+)\\])(?::[0-9]+)?`;
const pathPart = '[a-z0-9]+(?:(?:\\.|_|__|-+)[a-z0-9]+)*';
const path = `${pathPart}(?:/${pathPart})*`;
const tag = '[\\w][\\w.-]{0,127}';
const digest = '[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,}';
const reference = new RegExp(`^(?:${domain}/)?${path}(?::(${tag}))?(?:@(${digest}))?$`);
const maxNameLength = 255;
const bareId = /^[a-f0-9]{64}$/;

/** Adds `:latest` where neither tag nor digest is given; refuses what no registry could serve. */
export function normalizeImageName(image: string): string {
  const match = bareId.test(image) ? null : reference.exec(image);
  const name = image.replace(/@.*$/, '').replace(new RegExp(`:${tag}$`), '');
  if (match === null || name.length > maxNameLength) {
    throw new KubeletError(
      'invalid',
      'InvalidImageName',
      `Failed to apply default image tag "${image}": couldn't parse image name "${image}": invalid reference format`,
    );
  }
  return match[1] === undefined && match[2] === undefined ? `${image}:latest` : image;
}
