// Sets the fields that have a constant default, in every struct below a value. Mutates its argument, which is a copy of the
// caller's. Upstream: pkg/apis/core/v1 (zz_generated.defaults.go, which likewise defaults by type).
import { isObject } from '../../base/guards.ts';
import { type FieldType, fieldType } from '../schema/schema.ts';
import { constantDefaults } from './generated/constant-defaults.ts';

export function applyConstantDefaults(value: unknown, type: FieldType): void {
  if (type.is === 'list' && Array.isArray(value))
    for (const item of value) applyConstantDefaults(item, type.of);
  if (type.is !== 'struct' || !isObject(value)) return;
  const object = value as Record<string, unknown>;
  for (const [name, inner] of Object.entries(object)) {
    const innerType = typeof inner === 'object' ? fieldType(type.name, name) : undefined;
    if (innerType !== undefined) applyConstantDefaults(inner, innerType);
  }
  const own = constantDefaults[type.name];
  if (own === undefined) return;
  for (const [name, constant] of Object.entries(own.ifAbsent)) object[name] ??= constant;
  for (const [name, constant] of Object.entries(own.ifEmpty)) object[name] ||= constant;
}
