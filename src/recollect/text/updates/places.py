"""Places: towns that are known as such, and what lies around or within a town."""

from recollect.text.updates.word_lists import COUNTRIES, word_set

REGIONS = word_set("""
    alabama alaska arizona arkansas california colorado connecticut delaware florida hawaii idaho illinois indiana iowa
    kansas kentucky louisiana maine maryland massachusetts michigan minnesota mississippi missouri montana nebraska
    nevada new_hampshire new_jersey new_mexico north_carolina north_dakota ohio oklahoma oregon pennsylvania
    rhode_island south_carolina south_dakota tennessee texas utah vermont virginia washington west_virginia wisconsin
    wyoming new_england ontario alberta manitoba saskatchewan british_columbia nova_scotia new_brunswick newfoundland
    bavaria saxony hesse thuringia brandenburg baden-württemberg lower_saxony schleswig-holstein rhineland tyrol styria
    carinthia tuscany lombardy sicily sardinia umbria piedmont veneto puglia calabria catalonia andalusia galicia
    brittany normandy provence burgundy alsace corsica occitanie flanders wallonia algarve alentejo
    madeira the_azores cornwall devon kent essex sussex surrey norfolk suffolk dorset somerset yorkshire lancashire
    cumbria cheshire hampshire berkshire wiltshire oxfordshire gloucestershire hertfordshire the_cotswolds
    the_highlands northern_ireland ulster munster leinster connacht new_south_wales queensland victoria tasmania
    south_australia western_australia punjab kerala gujarat rajasthan maharashtra karnataka tamil_nadu west_bengal
    crete scania lapland jutland zealand silesia masovia bohemia moravia transylvania crimea siberia hokkaido okinawa
    the_bay_area bay_area silicon_valley the_midwest the_south
""")
"""Who lives in one of these lives in a town of it as well."""

CITY_DISTRICTS = word_set("""
    kreuzberg neukölln mitte charlottenburg wedding friedrichshain prenzlauer_berg schöneberg moabit spandau pankow
    altona eimsbüttel ottensen schwabing sendling haidhausen ehrenfeld alfama chiado belém bairro_alto graça
    trastevere monti testaccio navigli brera montmartre belleville le_marais marais gràcia eixample el_born raval
    malasaña lavapiés chueca chamberí shoreditch hackney camden islington brixton peckham soho mayfair chelsea clapham
    greenwich notting_hill kensington battersea southwark lambeth lewisham brooklyn manhattan queens bronx the_bronx
    staten_island harlem tribeca williamsburg astoria bushwick hollywood venice_beach santa_monica the_mission
    mission_district pacific_heights capitol_hill lincoln_park wicker_park back_bay dorchester grünerløkka frogner
    majorstuen södermalm östermalm kungsholmen vasastan nørrebro vesterbro østerbro frederiksberg jordaan de_pijp
    leopoldstadt josefstadt neubau favoriten shibuya shinjuku ginza roppongi minato harajuku bandra andheri kadıköy
    beyoğlu beşiktaş leith newtown fitzroy surry_hills bondi
""")
"""Who lives in one of these lives in the town around it as well."""

CITIES = word_set("""
    aachen aarhus aberdeen abuja accra addis_ababa adelaide ahmedabad albuquerque aleppo alexandria algiers alicante
    almaty amman amsterdam anchorage ankara antalya antwerp athens atlanta auckland augsburg austin baghdad baku
    baltimore bamako bangalore bengaluru bangkok barcelona bari basel beijing beirut belfast belgrade bergen berlin bern
    bilbao birmingham bogota bogotá bologna bonn bordeaux boston braga brasilia brasília bratislava bremen bremerhaven
    brighton brisbane bristol brno brussels bucharest budapest buenos_aires buffalo cairo calgary cambridge canberra
    cape_town caracas cardiff casablanca catania charlotte chennai chicago christchurch cincinnati cleveland cluj
    coimbra cologne colombo columbus copenhagen cordoba córdoba cork coventry dakar dallas damascus dar_es_salaam
    darmstadt delhi denver detroit dhaka doha dortmund dresden dubai dublin duisburg dundee durban düsseldorf dusseldorf
    edinburgh edmonton eindhoven erfurt essen exeter faro florence frankfurt freiburg galway gdansk gdańsk geneva genoa
    ghent girona glasgow gothenburg göteborg göttingen granada graz grenoble groningen guadalajara guangzhou haifa
    halifax hamburg hanoi hanover hannover harare havana heidelberg helsinki ho_chi_minh_city hong_kong honolulu houston
    hyderabad indianapolis innsbruck istanbul izmir jaipur jeddah jena jerusalem johannesburg kampala kansas_city
    karachi karlsruhe kassel katowice kathmandu kaunas kharkiv kiel kigali kingston kinshasa klagenfurt kolkata krakow
    kraków kuala_lumpur kyiv kyoto la_paz lagos lahore las_vegas lausanne leeds leicester leipzig leiden lille limerick
    linz lisbon liverpool ljubljana london los_angeles louisville luanda lucerne luxembourg_city lviv lyon madison
    madrid mainz malaga málaga malmö managua manchester manila mannheim maputo marrakesh marseille medellín melbourne
    memphis mexico_city miami milan milwaukee minneapolis minsk montevideo montpellier montréal montreal moscow mumbai
    munich münster murcia nagoya nairobi nantes naples nashville new_delhi new_orleans new_york new_york_city newcastle
    norwich nottingham nuremberg oakland odense odesa osaka oslo ottawa oxford palermo palma panama_city paris perth
    philadelphia pittsburgh plymouth porto porto_alegre portsmouth poznan poznań prague pretoria quebec_city quito
    rabat raleigh recife reykjavik rennes riga rio_de_janeiro riyadh rome rostock rotterdam sacramento salamanca
    salt_lake_city salvador salzburg san_antonio san_diego san_francisco san_jose santiago sao_paulo são_paulo sapporo
    sarajevo seattle seoul seville shanghai sheffield shenzhen singapore skopje sofia southampton st._gallen stavanger
    stockholm strasbourg stuttgart sydney taipei tallinn tampa tampere tartu tashkent tbilisi tehran tel_aviv
    the_hague thessaloniki tirana tokyo toledo toronto toulouse trieste tripoli trondheim tucson tunis turin turku
    uppsala utrecht valencia valladolid valletta vancouver venice verona vienna vilnius warsaw wellington wiesbaden
    winnipeg wolfsburg wroclaw wrocław wuhan würzburg yerevan york zagreb zaragoza zurich zürich
""")
"""Towns, of which somebody who moved there lives in one; not those that are called like something else to move to."""


def place_suffix(words: str) -> str:
    """What is told of a place that is not a town, in brackets; nothing of a town."""
    said = words.lower()
    if said in COUNTRIES:
        return " (country)"
    if said in REGIONS:
        return " (region)"
    return " (quarter)" if said in CITY_DISTRICTS else ""


def is_place(words: str) -> bool:
    """Whether the words are known to name a place, as "Porto" or "Porto, Portugal"."""
    town, _, beyond = (part.strip() for part in words.lower().partition(","))
    return (town in CITIES and (not beyond or place_suffix(beyond) != "")) or (not beyond and place_suffix(town) != "")
