// The page's few icons, drawn on a grid of 16. They are decoration: a word or a label always says the same.

const paths = {
  node: 'M8 1.5 14 5v6l-6 3.5L2 11V5zM2 5l6 3.5L14 5M8 8.5v6',
  copy: 'M5.5 5.5v-3h8v8h-3M2.5 5.5h8v8h-8z',
  help: 'M8 14.5a6.5 6.5 0 1 0 0-13 6.5 6.5 0 0 0 0 13M6 6.2a2 2 0 1 1 2.8 1.9c-.5.2-.8.6-.8 1.2M8 11.4v.2',
  lock: 'M4 7.5h8v6H4zM5.5 7.5V5a2.5 2.5 0 0 1 5 0v2.5',
  auto: 'M8 14.5a6.5 6.5 0 1 0 0-13 6.5 6.5 0 0 0 0 13M8 1.5v13M8 4l4 1M8 7l5.5 1M8 10l4.5 1',
  light:
    'M8 11a3 3 0 1 0 0-6 3 3 0 0 0 0 6M8 1v1.5M8 13.5V15M1 8h1.5M13.5 8H15M3 3l1 1M12 12l1 1M13 3l-1 1M4 12l-1 1',
  dark: 'M13.5 10A6 6 0 0 1 6 2.5a6 6 0 1 0 7.5 7.5z',
  up: 'M4 10l4-4 4 4',
  down: 'M4 6l4 4 4-4',
  back: 'M10 3 5 8l5 5',
} as const;

export function Icon({ name }: { readonly name: keyof typeof paths }) {
  return (
    <svg class="icon" viewBox="0 0 16 16" aria-hidden="true">
      <path d={paths[name]} />
    </svg>
  );
}
