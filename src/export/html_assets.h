/* html_assets: the parts of the page that do not depend on the run, made from src/export/html when tacho is
 * built. Each ends in a zero byte. */
#ifndef TACHO_HTML_ASSETS_H
#define TACHO_HTML_ASSETS_H

extern const char html_asset_body[]; /* markup, of the body */
extern const char html_asset_script[];
extern const char html_asset_style[];

#endif
